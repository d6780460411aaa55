import torch

from transformer_course.model import FeedForward, sinusoidal_encoding
from transformer_course.pretrained import (
    SinesThenCosines,
    SwishFeedForward,
    use_output_bias,
    use_sines_then_cosines,
    use_swish,
)

from ..model.small import new_model, random_ids


def test_sines_come_first_then_the_cosines():
    encoding = SinesThenCosines(8, max_len=20).encoding
    paired = sinusoidal_encoding(20, 8)
    assert torch.equal(encoding[:, :4], paired[:, 0::2])
    assert torch.equal(encoding[:, 4:], paired[:, 1::2])
    assert not list(SinesThenCosines(8).state_dict())


def test_swish_is_x_times_its_sigmoid():
    network, x = SwishFeedForward(6, 10), torch.randn(2, 3, 6)
    hidden = network.expand(x)
    torch.testing.assert_close(network(x), network.contract(hidden * hidden.sigmoid()))
    with torch.no_grad():
        paper = FeedForward(6, 10)
        paper.load_state_dict(network.state_dict())
        assert (paper(x) - network(x)).abs().max() > 0.01


def test_parts_take_the_place_of_the_papers():
    network = new_model(tying="two_way")
    shapes = {name: weight.shape for name, weight in network.named_parameters()}
    use_swish(network)
    use_sines_then_cosines(network)
    assert {name: weight.shape for name, weight in network.named_parameters()} == shapes
    assert network.encoder.layers[0].feed_forward(torch.ones(1, 1, 24)).shape == (1, 1, 24)


def test_output_bias_is_added_to_the_logits():
    network, ids = new_model(), random_ids(2, 5)
    plain = network(ids, ids)
    table = network.output.weight
    use_output_bias(network)
    assert network.output.weight is table is network.target_embeddings.table.weight
    assert torch.equal(network(ids, ids), plain)
    with torch.no_grad():
        network.output.bias += torch.arange(13.0)
    torch.testing.assert_close(network(ids, ids), plain + torch.arange(13.0))
